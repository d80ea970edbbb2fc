"""Writes the C++ example of a Markdown file to a source file: extract.py MARKDOWN SOURCE."""
import re
import sys
from pathlib import Path

blocks = re.findall(r"^```cpp\n(.*?)^```$", Path(sys.argv[1]).read_text(), re.S | re.M)
if len(blocks) != 1:
    sys.exit(f"{sys.argv[1]} has {len(blocks)} C++ examples, not one")
Path(sys.argv[2]).write_text(blocks[0])
