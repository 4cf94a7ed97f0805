//! Files, filegroups, proportional fill, allocation maps.
