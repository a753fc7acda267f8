"""Messages of the NAS benchmarks, counted and printed as Lobosco, Santos Costa and de Amorim print theirs."""
