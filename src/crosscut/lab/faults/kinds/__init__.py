"""A file for each kind of fault; `catalogue.KINDS` lists them."""
