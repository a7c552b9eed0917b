"""What the person reads and answers."""
