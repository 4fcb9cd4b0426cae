//! Page "Hosts". Its programs stand in the modules below, and the names that they use are taken in here, once for all of
//! them, as the page shows it.

mod calls;
mod forms;
mod transport;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use mrtr::async_trait;
use mrtr::client::testing::Script;
use mrtr::client::{
    AnswerError, CancelOutcome, EventKind, Events, Limits, PendingTask, QuestionContext, ServerMessage, Stop,
    TraceContext, Transport, TransportError, TransportFailure, TransportRequest, TransportResponse, UnsafeUrl,
};
use mrtr::prelude::*;
use mrtr::schema::completion::{CompleteParams, CompletionArgument, PromptReference};
use mrtr::schema::content::Role;
use mrtr::schema::elicitation::{ElicitAction, ElicitResult, Field, FieldKind, StringFormat};
use mrtr::schema::input::InputKind;
use mrtr::schema::prompts::GetPromptResult;
use mrtr::schema::resources::ReadResourceResult;
use mrtr::schema::roots::{ListRootsResult, Root};
use mrtr::schema::sampling::{CreateMessageParams, CreateMessageResult, SamplingContent};
use mrtr::schema::{
    CallToolResult, Era, Form, InputRequest, Json, JsonObject, LoggingLevel, Method, NamespacedInput, Printable,
    Revision,
};
use mrtr::serde_json;
use mrtr::server::Context;
use mrtr::stdio::{ChildServer, StdioTransport};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
