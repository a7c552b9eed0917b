"""The planner, the player and the coach: their calls, their tools, and what they may write."""
