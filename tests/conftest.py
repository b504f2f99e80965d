"""What every test folder shares."""

pytest_plugins = ["tests.brokers"]
