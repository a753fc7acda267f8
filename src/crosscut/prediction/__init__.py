"""What a traced program would take on other networks: its trace replayed, its time taken apart."""
