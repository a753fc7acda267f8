"""For all tests."""

import signal

from hypothesis import settings

# No test is timed: machines are shared.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# Started in the background by a shell, this process ignores what the tests send to those that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
