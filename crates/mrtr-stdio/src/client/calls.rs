//! The calls that are under way on a connection, which hand what a server sends to the call that it is for.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mrtr_client::{ServerMessage, ServerRequest, TransportError};
use mrtr_schema::RequestId;
use tokio::sync::mpsc;

/// The calls that are under way.
#[derive(Debug, Default)]
pub(super) struct Calls(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    calls: HashMap<RequestId, Call>,
    /// The number of calls that have begun.
    begun: u64,
    /// The reason that there can be no more calls.
    over: Option<String>,
    /// True once a session of the legacy era has begun: in it, the server may ask.
    has_session: bool,
    /// The questions that came while no call was under way, with their bytes: the next call has them answered.
    asked: VecDeque<(ServerRequest, usize)>,
}

#[derive(Debug)]
struct Call {
    /// The number of calls that began before it.
    place: u64,
    /// The token of its progress, where that is not its id.
    token: Option<RequestId>,
    /// True if the call belongs to a session, so that the server can ask in it.
    is_in_session: bool,
    events: mpsc::UnboundedSender<Event>,
    waiting: Arc<AtomicUsize>,
}

/// An event of a call.
#[derive(Debug)]
pub(super) enum Event {
    /// A notification or question that came before the response, and its size in bytes.
    Message(ServerMessage, usize),
    /// The response, as it came.
    Response(String),
    /// There will be no response.
    Failed(String),
}

/// The call that a notification is for, as far as it says.
#[derive(Debug)]
pub(super) enum Recipient {
    /// The call with this id, or with this progress token.
    Named(RequestId),
    /// No call, since nothing says whose it is. Only the call that began first gets it, so that it is handled once.
    Unnamed,
}

/// A call that is under way, until this is dropped.
#[derive(Debug)]
pub(super) struct UnderWay {
    calls: Arc<Calls>,
    id: RequestId,
    place: u64,
    events: mpsc::UnboundedReceiver<Event>,
    waiting: Arc<AtomicUsize>,
}

impl Calls {
    /// Enters a call, unless the connection is over or another call has its id.
    pub(super) fn begin(
        self: &Arc<Self>,
        id: &RequestId,
        token: Option<RequestId>,
        is_in_session: bool,
    ) -> Result<UnderWay, TransportError> {
        let (sender, events) = mpsc::unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let mut table = self.table();
        if let Some(reason) = &table.over {
            return Err(TransportError::new(reason.clone()));
        }
        let place = table.begun;
        table.begun += 1;
        match table.calls.entry(id.clone()) {
            Entry::Occupied(_) => {
                Err(TransportError::new("another call has this id: give each client a transport of its own"))
            }
            Entry::Vacant(free) => {
                let call = Call { place, token, is_in_session, events: sender, waiting: Arc::clone(&waiting) };
                free.insert(call);
                if is_in_session {
                    table.hand_over_asked();
                }
                Ok(UnderWay { calls: Arc::clone(self), id: id.clone(), place, events, waiting })
            }
        }
    }

    /// Notes that a session has begun: from now on the server may ask.
    pub(super) fn begin_session(&self) {
        self.table().has_session = true;
    }

    pub(super) fn has_session(&self) -> bool {
        self.table().has_session
    }

    /// Hands a question to the call that it is most likely for: the one of the session that began first. Nothing on the
    /// wire says whose it is. If there is no such call, the question waits for the next one; questions beyond a bound
    /// are dropped.
    pub(super) fn ask(&self, request: ServerRequest, bytes: usize) {
        let mut table = self.table();
        let waiting: usize = table.asked.iter().map(|(_, bytes)| bytes).sum();
        if table.asked.len() >= MAX_ASKED || waiting + bytes > NOTIFICATION_BYTES {
            return tracing::warn!("a question was dropped: too many wait for a call");
        }
        table.asked.push_back((request, bytes));
        table.hand_over_asked();
    }

    /// Hands a response to its call. One that has no call is dropped: the call was cancelled, and the server may have
    /// responded before it heard of that.
    pub(super) fn respond(&self, id: Option<&RequestId>, response: String) {
        let mut table = self.table();
        let call = match id {
            Some(id) => table.calls.remove(id),
            // The server could not read a message or its id: if there is only one call, the message was that call's.
            None if table.calls.len() == 1 => table.calls.drain().next().map(|(_, call)| call),
            None => None,
        };
        let Some(call) = call else { return tracing::debug!("a response to no call was dropped") };
        let _ = call.events.send(Event::Response(response));
    }

    /// Hands a notification to its call, unless too many wait there already.
    pub(super) fn notify(&self, recipient: &Recipient, notification: ServerMessage, bytes: usize) {
        let table = self.table();
        let call = match recipient {
            Recipient::Named(id) => {
                let by_token = || table.calls.values().find(|call| call.token.as_ref() == Some(id));
                table.calls.get(id).or_else(by_token)
            }
            Recipient::Unnamed => table.calls.values().min_by_key(|call| call.place),
        };
        if let Some(call) = call {
            call.tell(notification, bytes);
        }
    }

    /// Fails every call that is under way.
    pub(super) fn fail_all(&self, reason: &str) {
        for call in std::mem::take(&mut self.table().calls).into_values() {
            let _ = call.events.send(Event::Failed(reason.to_owned()));
        }
    }

    /// Fails every call, those to come among them.
    pub(super) fn end(&self, reason: &str) {
        self.table().over.get_or_insert_with(|| reason.to_owned());
        self.fail_all(reason);
    }

    pub(super) fn is_over(&self) -> bool {
        self.table().over.is_some()
    }

    /// Why the connection is over, if it is.
    pub(super) fn over(&self) -> Option<String> {
        self.table().over.clone()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnderWay {
    /// Waits for the next event.
    pub(super) async fn next(&mut self) -> Event {
        let event = self.events.recv().await;
        if let Some(Event::Message(_, bytes)) = &event {
            self.waiting.fetch_sub(*bytes, Ordering::Relaxed);
        }
        event.unwrap_or_else(|| Event::Failed("the connection is over".to_owned()))
    }

    /// True if the call has neither a response nor an error.
    pub(super) fn is_open(&self) -> bool {
        self.calls.table().is_open(self)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut table = self.calls.table();
        if table.is_open(self) {
            table.calls.remove(&self.id);
        }
    }
}

impl Call {
    /// Tells the call what the server sends before its response, unless too much of that waits already.
    fn tell(&self, message: ServerMessage, bytes: usize) {
        if self.waiting.fetch_add(bytes, Ordering::Relaxed) + bytes > NOTIFICATION_BYTES {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
            tracing::warn!("a message was dropped: its call does not take them as fast as they come");
            return;
        }
        let _ = self.events.send(Event::Message(message, bytes));
    }
}

impl Table {
    /// Hands the waiting questions to a call of the session, if there is one.
    fn hand_over_asked(&mut self) {
        let Self { calls, asked, .. } = self;
        let first = calls.values().filter(|call| call.is_in_session).min_by_key(|call| call.place);
        let Some(first) = first else { return };
        for (request, bytes) in asked.drain(..) {
            first.tell(ServerMessage::Request(request), bytes);
        }
    }

    /// True if this very call is under way, and not another one that has its id by now.
    fn is_open(&self, call: &UnderWay) -> bool {
        self.calls.get(&call.id).is_some_and(|open| open.place == call.place)
    }
}

/// The most questions that wait for a call.
pub(super) const MAX_ASKED: usize = 64;

/// The most bytes of notifications that wait for one call, and of questions that wait for any.
pub(super) const NOTIFICATION_BYTES: usize = 8 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use mrtr_client::ServerNotification;
    use mrtr_schema::Json;

    use super::*;

    #[tokio::test]
    async fn notifications_wait_within_a_bound_and_there_is_room_again_once_they_are_taken() {
        let calls = Arc::new(Calls::default());
        let mut call = calls.begin(&1.into(), None, false).expect("there are no others");
        let params = Json::from(serde_json::json!({}));
        let notification = ServerNotification { method: "notifications/message".to_owned(), params };
        let notification = ServerMessage::Notification(notification);
        let tell = |bytes| calls.notify(&Recipient::Unnamed, notification.clone(), bytes);
        for _ in 0..20 {
            tell(NOTIFICATION_BYTES / 10);
        }
        assert_eq!(call.events.len(), 10);
        assert!(matches!(call.next().await, Event::Message(..)));
        tell(NOTIFICATION_BYTES / 10);
        assert_eq!(call.events.len(), 10);
    }

    #[test]
    fn a_question_waits_for_a_call_of_the_session_and_not_for_ever_many_do() {
        let calls = Arc::new(Calls::default());
        let params = || Json::from(serde_json::json!({}));
        let mut modern = calls.begin(&0.into(), None, false).expect("there are no others");
        for id in 0..100 {
            calls.ask(ServerRequest { id: id.into(), method: "roots/list".to_owned(), params: params() }, 10);
        }
        assert!(modern.events.try_recv().is_err(), "it cannot be asked");
        let call = calls.begin(&1.into(), None, true).expect("it has another id");
        assert_eq!(call.events.len(), MAX_ASKED);
        let next = calls.begin(&2.into(), None, true).expect("it has another id");
        assert_eq!(next.events.len(), 0, "each is answered once");
    }

    #[test]
    fn an_id_that_is_given_again_belongs_to_the_new_call() {
        let calls = Arc::new(Calls::default());
        let first = calls.begin(&1.into(), None, false).expect("there are no others");
        assert!(calls.begin(&1.into(), None, false).is_err());
        calls.respond(Some(&1.into()), "{}".to_owned());
        let second = calls.begin(&1.into(), None, false).expect("the first one has its response");
        drop(first);
        assert!(second.is_open());
    }
}
