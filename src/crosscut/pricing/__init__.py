"""What a network costs, from price books; and what it gives for that."""
