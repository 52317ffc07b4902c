//! Calls and servers.

use crate::cap::{CPtr, Capability, Endpoint, Reply};
use crate::server::{self, CallError};
use crate::startup::RecordKind;
use crate::{Message, Received, Startup};
use core::ops::Deref;

/// The right to call an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Client(Endpoint);

impl Client {
    #[doc(hidden)]
    pub fn find(startup: &Startup, name: &str) -> Option<Self> {
        startup.find_capability(name).map(Self)
    }

    /// Sends and waits for the reply. A passive server runs on the caller's scheduling context.
    #[inline(always)]
    pub fn call(self, message: Message) -> Message {
        self.0.call(message)
    }

    /// As [`call`](Self::call), for servers that may fail.
    ///
    /// # Errors
    /// If the server has failed or stopped, or the kernel refuses the call.
    #[inline(always)]
    pub fn try_call(self, message: Message) -> core::result::Result<Message, CallError> {
        server::reply(self.call(message))
    }
}

/// The right to call an endpoint, and to send to it without a reply. Its server is active: a send donates no
/// scheduling context, so a passive server would have the message and no time.
#[derive(Clone, Copy, Debug)]
pub struct Sender(Client);

impl Sender {
    #[doc(hidden)]
    pub fn find(startup: &Startup, name: &str) -> Option<Self> {
        Client::find(startup, name).map(Self)
    }

    /// Sends, and waits until the message has been received.
    #[inline(always)]
    pub fn send(self, message: Message) {
        self.0.0.send(message);
    }

    /// Sends if the server is waiting.
    #[inline(always)]
    pub fn nb_send(self, message: Message) {
        self.0.0.nb_send(message);
    }
}

impl Deref for Sender {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.0
    }
}

/// The right to serve at an endpoint. There is one of it, and [`receive`](Self::receive) turns it into a
/// [`Request`]: only the reply to this gives it back.
#[derive(Debug)]
pub struct Server {
    endpoint: Endpoint,
    reply: Reply,
}

impl Server {
    #[doc(hidden)]
    pub fn find(startup: &Startup, name: &str) -> Option<Self> {
        let (reply, _) = startup.find_pair(name, RecordKind::Reply)?;
        Some(Self {
            endpoint: startup.find_capability(name)?,
            reply: Reply::at(CPtr(reply)),
        })
    }

    /// Replies to calls for ever; see [`server::serve`].
    pub fn serve(self, handler: impl FnMut(Received) -> Message) -> ! {
        server::serve(self.endpoint, self.reply, handler)
    }

    /// Receives the next message.
    #[inline(always)]
    pub fn receive(self) -> Request {
        Request {
            received: self.endpoint.recv(self.reply),
            server: self,
        }
    }
}

/// What a server has received, with the right to reply to it. The caller waits as long as this value is kept.
/// The reply to a signal or a plain send is discarded.
#[derive(Debug)]
#[must_use = "the caller waits for the reply, and the server receives nothing until then"]
pub struct Request {
    received: Received,
    server: Server,
}

impl Request {
    /// Replies.
    #[inline(always)]
    pub fn reply(self, message: Message) -> Server {
        self.server.reply.send(message);
        self.server
    }

    /// Replies, and receives the next message, in one system call.
    #[inline(always)]
    pub fn reply_and_receive(self, message: Message) -> Self {
        let Server { endpoint, reply } = self.server;
        Self {
            received: endpoint.reply_recv(message, reply),
            ..self
        }
    }
}

impl Deref for Request {
    type Target = Received;

    fn deref(&self) -> &Received {
        &self.received
    }
}
