"""Run the code of an answer in a process that can only request tool calls from the host."""
