"""What a traced program would take on other networks: its trace replayed by SMPI, its time taken apart."""
