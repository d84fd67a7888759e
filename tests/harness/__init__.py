"""Things every test above unit level needs: processes, ports, waiting, the doubles and the real parts."""
