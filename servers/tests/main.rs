//! The servers that tests start: that they are what they are for, and that they end.

mod clock;
mod etcd;
mod kubernetes;
mod mariadb;
mod postgres;
mod proxy;
mod redis;
