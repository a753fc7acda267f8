"""The kinds of faults, one a file; `catalogue.KINDS` lists them."""
