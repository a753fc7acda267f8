"""The Enterasys E7 of Kurmann, Rauch and Stricker (ETH Zurich TR 391, 2003), ranks numbered at random:
whether `crosscut locate` finds its modules, chips and limits, simulated and emulated."""
