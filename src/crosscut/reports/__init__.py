"""Reports for people and programs, with a module or folder for each form of output."""
