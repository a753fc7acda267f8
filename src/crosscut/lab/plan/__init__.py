"""What a lab is to be made of: pure functions of a network and a few choices."""
