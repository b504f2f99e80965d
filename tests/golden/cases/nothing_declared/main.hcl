# every resource was removed
