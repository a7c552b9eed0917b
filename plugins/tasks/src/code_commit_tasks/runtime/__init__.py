"""Run the code of an answer in a separate process that can only ask the host to call tools."""
