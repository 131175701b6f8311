//! In MariaDB, at every isolation level.

mod cluster;
mod ended;
mod replicas;
mod support;
mod tables;
mod writes;
