"""The three workflows: planning, autonomous mode and chat."""
