//! System procedures: `sp_helpdb`, `xp_readerrorlog` and their like.
