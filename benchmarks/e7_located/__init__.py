"""Does `crosscut locate` find the modules, ASICs and limits of the Enterasys E7 (Kurmann, Rauch and Stricker,
ETH Zurich TR 391, 2003), simulated and emulated, if its ranks are numbered at random?"""
