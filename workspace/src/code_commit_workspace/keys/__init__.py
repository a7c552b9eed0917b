"""Keys: find them in any form, and hide them."""
