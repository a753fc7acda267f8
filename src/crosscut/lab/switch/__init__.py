"""crosscut-switch, the switch in user space: starting it and talking to it."""
