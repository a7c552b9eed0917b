"""The `Run` that the host gives to workflows, and the session around it."""
