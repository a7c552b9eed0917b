"""One change over many repositories, or many models over one: the command `fleet`, on Dask."""
