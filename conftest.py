pytest_plugins = ["lengthmirror.pytest_plugin"]
