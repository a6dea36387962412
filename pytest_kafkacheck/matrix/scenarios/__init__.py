"""The scenarios. Each file binds SCENARIO; its name is that of an event of the audit, where there is one."""
