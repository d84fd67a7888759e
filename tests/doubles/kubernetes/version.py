"""What /version says: the real server's layout."""

import json

VERSION = json.dumps({
    "major": "1", "minor": "34", "emulationMajor": "1", "emulationMinor": "34", "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "33", "gitVersion": "v1.34.4", "gitCommit": "$Format:%H$", "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z", "goVersion": "go1.26.8", "compiler": "gc", "platform": "linux/amd64",
}, indent=2).encode()
