//! Real SQL Server files, attached READ_ONLY: their tables as sessions read them, against the truth table and
//! against the other reader of such files; damage; many files; databases of our own.

mod damage;
mod ground;
mod hostile;
mod own;
mod tables;
mod values;
