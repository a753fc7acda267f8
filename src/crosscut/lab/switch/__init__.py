"""crosscut-switch, the switch in user space: how it is started and queried."""
