"""The admin client, by what its requests are about; `kplan.admin` is its public face."""
