//! Listening sockets.

use std::io;
use std::net::SocketAddr;

use mio::net::TcpListener;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, ipproto, listen, socket_with, sockopt};

use crate::error::NetError;

const BACKLOG: i32 = 1024;

/// A socket that listens on `address`, and the address with the port that it got.
pub fn listen_on(address: SocketAddr) -> Result<(TcpListener, SocketAddr), NetError> {
    open(address).map_err(|source| NetError::Listen { address, source })
}

fn open(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    // A restarted server must not wait for its old connections to leave TIME_WAIT.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        // So that 0.0.0.0 and [::] can be listened on side by side with the same port.
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    bind(&socket, &address)?;
    listen(&socket, BACKLOG)?;
    let listener = TcpListener::from_std(socket.into());
    let found = listener.local_addr()?;
    Ok((listener, found))
}
