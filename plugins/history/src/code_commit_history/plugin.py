"""What the history plugin registers."""
