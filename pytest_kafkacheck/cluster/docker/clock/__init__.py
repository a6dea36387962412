"""A wall clock of its own for one broker. `VirtualClock` is the only public class; see docs/clock.md."""
