//! Calls, from one that answers by handlers to saved ones, tasks, events and lists.
#![allow(clippy::wildcard_imports, reason = "what the page takes in")]

use std::sync::{Arc, Mutex, PoisonError};

use mrtr::schema::content::TextContent;
use mrtr::schema::sampling::{SamplingMessage, ToolUseContent};
use mrtr::schema::tools::InputSchema;
use mrtr::server::TaskPolicy;
use mrtr::server::flow::SamplingTools;
use mrtr::server::handler::Completing;
use mrtr::stdio::Stdio;
use mrtr::tasks::store::MemoryTaskStore;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// Reaches a server over HTTP, and shows it a token with every request.
fn over_http(url: &str, token: &str) -> Result<Client> {
    let transport = HttpTransport::new(url)?.bearer(token);
    Ok(Client::builder(transport).info("travel-agent", "1.0.0").build())
}

/// Starts a server as a child process, and gives it the keys that it seals its states with.
fn start(program: &Path, keys: &str) -> Result<StdioTransport> {
    let mut command = Command::new(program);
    command.env("MRTR_STATE_KEYS", keys);
    let child = ChildServer::new(command)
        .name("harbour") // for people, and for saved calls
        .on_stderr(|line| eprintln!("harbour says: {}", Printable::line(&line)));
    Ok(child.spawn()?)
}

#[tokio::test]
async fn a_call_of_a_child_that_has_ended_is_resumed_by_the_next_child_with_the_same_keys() -> Result<()> {
    let program = Path::new(env!("CARGO_BIN_EXE_stdio_server"));
    let keys = "harbour=k1:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
    let transport = start(program, keys)?;
    let client = Client::builder(transport.clone()).on_elicit(fill_in).build();
    let RoundOutcome::Asked(call) = client.call_tool_once("book", json!({ "port": "Kirkwall" })).await? else {
        return Err("it asks".into());
    };
    transport.close().await;

    let next = start(program, keys)?;
    let client = Client::builder(next.clone()).on_elicit(fill_in).build();
    assert_eq!(client.resume(call.clone()).await?.text(), "Ada is booked to Kirkwall");
    next.close().await;

    let other = start(program, "harbour=k2:CAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg=")?;
    let client = Client::builder(other.clone()).on_elicit(fill_in).build();
    assert!(client.resume(call).await.is_err(), "it has other keys");
    other.close().await;
    Ok(())
}

/// Reaches a server over a socket that carries one message per line.
async fn over_socket(address: SocketAddr) -> Result<Client> {
    let (read, write) = TcpStream::connect(address).await?.into_split();
    Ok(Client::builder(StdioTransport::over("harbour", read, write)).build())
}

/// Serves on an address of this machine, and returns its URL.
fn serve(server: Server) -> Result<String> {
    let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0")?;
    let url = format!("http://{}/mcp", bound.address()?);
    tokio::spawn(bound.run(std::future::pending()));
    Ok(url)
}

async fn weather(_: Flow) -> Result<String> {
    Ok("Rain in Oslo".into())
}

#[tokio::test]
async fn a_server_is_reached_over_http_and_over_a_socket() -> Result<()> {
    let server = Server::builder("weather", "1.0.0").tool(Tool::new("weather", weather)).build()?;
    let client = over_http(&serve(server.clone())?, "a-token")?;
    assert_eq!(client.call_tool("weather", json!({})).await?.text(), "Rain in Oslo");

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let client = over_socket(listener.local_addr()?).await?;
    let (read, write) = listener.accept().await?.0.into_split();
    tokio::spawn(Stdio::new(server).over(read, write));
    assert_eq!(client.call_tool("weather", json!({})).await?.text(), "Rain in Oslo");
    Ok(())
}

/// A client that can be asked everything.
fn client_of_everything(transport: impl Transport) -> Client {
    Client::builder(transport)
        .on_elicit(fill_in)
        .on_url(visit)
        .on_sample_with_tools(ask_model)
        .on_roots(list_roots)
        .on_input::<Seat, _, _, _>(choose_seat)
        .build()
}

/// What a handler returns: an answer, or any error that says why there is none.
type Answered<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Shows a form to the person, and returns what they entered.
async fn fill_in(form: FormRequest) -> Answered<ElicitResult> {
    let context = form.context();
    let tool = Printable::line(context.name.as_deref().unwrap_or_default());
    println!("{} asks, for {tool}: {}", context.server, form.message());
    match person_fills_in(&form).await {
        Some(entered) => Ok(form.accept(&entered)?),
        None => Ok(form.decline()?),
    }
}

/// Shows all of the URL, and opens it once the person has agreed.
async fn visit(request: UrlRequest) -> Answered<ElicitResult> {
    let name = if request.has_punycode_host() { " (punycode)" } else { "" };
    println!("{} asks: {}", request.context().server, request.message());
    println!("open {} at {}{name}?", request.url(), request.host().unwrap_or_default());
    if !person_agrees(request.url()).await {
        return Ok(request.decline());
    }
    open_in_browser(request.url())?;
    Ok(request.consent())
}

fn opens_what_it_likes(transport: impl Transport) -> Client {
    Client::builder(transport).on_url(visit).danger_accept_any_url().build()
}

/// Asks this host's model, with the tools that the server offers it.
async fn ask_model(question: CreateMessageParams, context: QuestionContext) -> Answered<CreateMessageResult> {
    if !person_agrees(&format!("{} wants to ask the model", context.server)).await {
        return Err("the person does not want the model to be asked".into());
    }
    let said = model(&question).await;
    let mut answer = CreateMessageResult::new(Role::Assistant, said.clone(), "a-model");
    answer.stop_reason = Some(if matches!(said, SamplingContent::ToolUse(_)) { "toolUse" } else { "endTurn" }.into());
    Ok(answer)
}

/// Names the folders that a server may work in. Only one tool is told.
async fn list_roots(context: QuestionContext) -> Answered<Vec<Root>> {
    match context.name.as_deref() {
        Some("book") => Ok(vec![Root::new("file:///home/ada/trips")]),
        _ => Ok(Vec::new()),
    }
}

/// An input of an application's own: a seat on a map.
struct Seat;

#[data]
struct Map {
    free: Vec<String>,
}

#[data]
struct Chosen {
    seat: String,
}

impl NamespacedInput for Seat {
    const METHOD: Method = Method::from_static("com.example/seat");
    type Params = Map;
    type Response = Chosen;
}

async fn choose_seat(map: Map, _: QuestionContext) -> Answered<Chosen> {
    Ok(Chosen { seat: map.free.into_iter().next_back().ok_or("no seat is free")? })
}

async fn person_fills_in(form: &FormRequest) -> Option<Value> {
    form.fields().any(|field| field.name == "name").then(|| json!({ "name": "Ada" }))
}

async fn person_agrees(_: &str) -> bool {
    true
}

#[expect(clippy::unnecessary_wraps, reason = "a browser may fail to start")]
fn open_in_browser(_: &str) -> io::Result<()> {
    Ok(())
}

/// Plays a model: it uses the first tool that it is offered, and then repeats what the tool said.
async fn model(question: &CreateMessageParams) -> SamplingContent {
    let last = question.messages.iter().rev().flat_map(|message| message.content.iter());
    let said = last.into_iter().find_map(|content| match content {
        SamplingContent::ToolResult(result) => Some(format!("{} content block", result.content.len())),
        _ => None,
    });
    match (said, question.tools.iter().flatten().next()) {
        (None, Some(tool)) => {
            SamplingContent::ToolUse(ToolUseContent::new("use-1", tool.name.clone(), JsonObject::default()))
        }
        (said, _) => SamplingContent::Text(TextContent::new(said.unwrap_or_else(|| "nothing".into()))),
    }
}

/// Asks for a line. Reading blocks its thread, so it gets one of its own.
async fn ask_for_line<R>(prompt: String, read: R) -> io::Result<String>
where
    R: FnOnce(&mut String) -> io::Result<usize> + Send + 'static,
{
    let reading = tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        print!("{prompt}: ");
        io::stdout().flush()?;
        read(&mut line).map(|_| line.trim_end().to_owned())
    });
    reading.await?
}

#[tokio::test]
async fn a_person_who_types_keeps_no_limit_from_ending_the_call() -> Result<()> {
    let (typed, keyboard) = std::sync::mpsc::channel::<String>();
    let keyboard = Arc::new(Mutex::new(keyboard));
    let fill_in = move |form: FormRequest| {
        let keyboard = Arc::clone(&keyboard);
        let read = move |line: &mut String| {
            let typed = keyboard.lock().unwrap_or_else(PoisonError::into_inner).recv();
            line.push_str(&typed.unwrap_or_default());
            Ok(line.len())
        };
        async move {
            let name = ask_for_line(form.message().to_owned(), read).await?;
            Ok::<_, Box<dyn Error + Send + Sync>>(form.accept(&json!({ "name": name }))?)
        }
    };
    let script = Script::new().result(asks_name()).result(asks_name()).result(complete("booked"));
    let limits = Limits { gathering: Some(Duration::from_millis(50)), ..Limits::default() };
    let client = Client::builder(script.clone()).limits(limits).on_elicit(fill_in.clone()).build();
    let error = client.call_tool("book", json!({})).await.expect_err("nobody types");
    assert!(matches!(error.kind, CallErrorKind::GatheringTooLong), "{error}");

    // The first line goes to the reader that is still there.
    typed.send("nobody waits for this\n".into())?;
    typed.send("Ada\n".into())?;
    let client = Client::builder(script.clone()).on_elicit(fill_in).build();
    assert_eq!(client.call_tool("book", json!({})).await?.text(), "booked");
    assert!(script.sent()[2].as_str().contains(r#""content":{"name":"Ada"}"#), "{:?}", script.sent());
    Ok(())
}

#[data]
struct Name {
    name: String,
}

/// Asks in every way.
async fn book(flow: Flow) -> Result<String> {
    let Name { name } = flow.elicit("name", "Who is travelling?").await?;
    flow.elicit_url("terms", "Please read our terms", "https://example.com/terms").await?;
    let tide = mrtr::schema::Tool::new("tide", InputSchema::parse(r#"{"type": "object"}"#)?);
    let tools = SamplingTools::new().tool(tide, async |_| Ok("high".into()));
    let question = CreateMessageParams::new([SamplingMessage::user("How is the tide?")], 100_u64);
    let tide = flow.sample_with_tools("tide", question, &tools).await?.text().unwrap_or_default();
    let trips = flow.roots("trips").await?;
    let Chosen { seat } = flow.ask::<Seat>("seat", Map { free: vec!["12C".into(), "14A".into()] }).await?;
    Ok(format!("{name} has seat {seat}; {tide}; {} folder", trips.len()))
}

#[tokio::test]
async fn every_kind_of_question_is_answered_by_its_handler() -> Result<()> {
    let tool = Tool::new("book", book);
    let server = Server::builder("harbour", "1.0.0").input::<Seat>().tool(tool).build()?;
    let client = client_of_everything(HttpTransport::new(&serve(server)?)?);
    let result = client.call_tool("book", json!({})).await?;
    assert_eq!(result.text(), "Ada has seat 14A; 1 content block; 1 folder");
    let declared = client.capabilities();
    assert!(declared.elicits_forms() && declared.elicits_urls() && declared.samples_with_tools());
    assert!(declared.lists_roots() && declared.knows(&Seat::METHOD));
    Ok(())
}

/// A client whose model is asked without tools, for servers that only want a text.
fn without_tools(transport: impl Transport) -> Client {
    Client::builder(transport).on_sample(ask_model).build()
}

#[test]
fn a_client_declares_what_it_has_handlers_for() {
    let client = without_tools(Script::new());
    assert!(client.capabilities().samples() && !client.capabilities().samples_with_tools());
    assert!(!client.capabilities().elicits_forms());
}

/// What a host does after a call that gave no result.
#[derive(Debug)]
enum Next {
    /// Give the text to the model, as the result of its call.
    TellModel(String),
    /// Get other credentials, build a client with them, and resume the call there.
    SignIn(PendingCall),
    /// Save the call, and resume it later.
    Save(PendingCall),
}

fn after(error: CallError) -> Next {
    let text = error.to_string();
    let CallError { kind, pending, .. } = error;
    match (kind, pending) {
        (CallErrorKind::Transport { source }, Some(call)) => match source.failure() {
            TransportFailure::Unauthorized => Next::SignIn(*call),
            _ if source.may_have_run() => Next::TellModel(text),
            _ => Next::Save(*call),
        },
        (
            CallErrorKind::NotAnswered { .. }
            | CallErrorKind::GatheringTooLong
            | CallErrorKind::Interrupted
            | CallErrorKind::Stopped { stop: Stop::TooManyRounds(_) | Stop::TooManyStateOnlyRounds(_) },
            Some(call),
        ) => Next::Save(*call),
        _ => Next::TellModel(text),
    }
}

#[tokio::test]
async fn each_failure_has_its_remedy() -> Result<()> {
    let refused = mrtr::schema::ErrorObject::new(mrtr::schema::ErrorCode::INVALID_PARAMS, "no such port");
    let call = async |script: Script| {
        let client = Client::builder(script).on_elicit(async |_| Err::<ElicitResult, _>("there is no screen")).build();
        after(client.call_tool("book", json!({})).await.expect_err("it fails"))
    };
    let said = call(Script::new().error(refused)).await;
    assert!(matches!(&said, Next::TellModel(text) if text == "the server answered: no such port (-32602)"), "{said:?}");
    let asked = call(Script::new().result(asks_name())).await;
    assert!(matches!(&asked, Next::Save(call) if call.unanswered().eq(["name"])), "{asked:?}");
    let limits = Limits { exchange: Duration::from_millis(1), ..Limits::default() };
    let silent = Client::builder(Script::new().silence()).limits(limits).build();
    let silent = after(silent.call_tool("book", json!({})).await.expect_err("it says nothing"));
    assert!(matches!(&silent, Next::TellModel(_)), "it may have run: {silent:?}");

    let nobody = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
    let client = Client::builder(HttpTransport::new(&format!("http://{nobody}/mcp"))?).build();
    let unreachable = after(client.call_tool("book", json!({})).await.expect_err("nobody listens"));
    assert!(matches!(&unreachable, Next::Save(_)), "{unreachable:?}");

    let client = over_http(&format!("http://{}/mcp", refuse_tokens().await?), "expired")?;
    let refused = after(client.call_tool("book", json!({})).await.expect_err("its token is refused"));
    assert!(matches!(&refused, Next::SignIn(call) if call.name().as_deref() == Some("book")), "{refused:?}");
    Ok(())
}

/// Plays a server that lets nobody in, and returns its address.
async fn refuse_tokens() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let refusal = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n";
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(refusal.as_bytes()).await;
        }
    });
    Ok(address)
}

/// An interim result that asks for a name.
fn asks_name() -> Value {
    let form = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    json!({ "resultType": "input_required", "requestState": "sealed", "inputRequests": { "name": {
        "method": "elicitation/create",
        "params": { "mode": "form", "message": "Who is travelling?", "requestedSchema": form } } } })
}

fn complete(text: &str) -> Value {
    json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] })
}

/// Drives a call to its end, round by round.
async fn drive(client: &Client, tool: &str, arguments: Value) -> Result<CallToolResult> {
    let mut call = client.prepare_tool(tool, arguments)?;
    loop {
        call = match client.advance(call).await? {
            RoundOutcome::Complete(result) => return Ok(result.to()?),
            RoundOutcome::Asked(mut call) => {
                answer(&mut call)?;
                call
            }
            RoundOutcome::BackOff(call, pause) | RoundOutcome::Task(call, pause) => {
                tokio::time::sleep(pause).await;
                call
            }
            other => return Err(format!("this host does not know {other:?}").into()),
        };
    }
}

/// Answers what is open. Here each form asks for a name, and the person agrees to each URL.
fn answer(call: &mut PendingCall) -> Result<()> {
    for key in call.unanswered().map(str::to_owned).collect::<Vec<_>>() {
        println!("{}", call.message(&key).unwrap_or_default());
        match call.question(&key).map(InputRequest::kind) {
            Some(InputKind::Form(_)) => call.accept(&key, &json!({ "name": "Ada" }))?,
            Some(InputKind::Url(params)) => {
                UnsafeUrl::check(&params.url)?;
                call.answer(&key, &ElicitResult::new(ElicitAction::Accept))?;
            }
            Some(InputKind::Roots) => call.answer(&key, &ListRootsResult::new([Root::new("file:///home/ada")]))?,
            Some(InputKind::Namespaced(_) | InputKind::Unknown(_)) => call.skip(&key)?,
            Some(InputKind::Sample(_)) | None => return Err("this host has no model".into()),
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_call_is_driven_round_by_round() -> Result<()> {
    let state_only = json!({ "resultType": "input_required", "requestState": "later" });
    let mut asks = asks_name();
    let terms = json!({ "mode": "url", "message": "Our terms", "url": "https://example.com/terms" });
    asks["inputRequests"]["terms"] = json!({ "method": "elicitation/create", "params": terms });
    asks["inputRequests"]["trips"] = json!({ "method": "roots/list" });
    asks["inputRequests"]["seat"] = json!({ "method": "com.example/seat", "params": { "free": [] } });
    let script = Script::new().result(asks).result(state_only).result(complete("Ada is booked"));
    let client = Client::builder(script.clone()).on_elicit(fill_in).build();
    assert_eq!(drive(&client, "book", json!({ "port": "Kirkwall" })).await?.text(), "Ada is booked");
    let answers = json!({
        "name": { "action": "accept", "content": { "name": "Ada" } },
        "terms": { "action": "accept" },
        "trips": { "roots": [{ "uri": "file:///home/ada" }] },
    });
    assert_eq!(script.sent()[1].to::<Value>()?["params"]["inputResponses"], answers, "the seat is left out");
    assert_eq!(script.sent()[2].to::<Value>()?["params"]["requestState"], "later");
    Ok(())
}

/// Saves a call, so that only this user can read it.
fn save(file: &Path, call: &PendingCall) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600); // of a file that is not there yet
    options.open(file)?.write_all(&serde_json::to_vec(call)?)
}

/// Runs a call to its end. If the program is to stop first, saves the call with all answers so far.
async fn run_or_save(
    client: &Client,
    call: PendingCall,
    file: &Path,
    stop: impl Future<Output = ()>,
) -> Result<Option<CallToolResult>> {
    match client.resume_until::<CallToolResult>(call, stop).await {
        Ok(result) => Ok(Some(result)),
        Err(CallError { kind: CallErrorKind::Interrupted, pending: Some(call), .. }) => {
            save(file, &call)?;
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

#[tokio::test]
async fn a_call_is_saved_at_the_end_of_the_program_and_resumed_by_the_next() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("call.json");
    let script = Script::new().result(asks_name()).result(complete("Ada is booked"));
    let asked = Arc::new(tokio::sync::Notify::new());
    let (shown, stop) = (Arc::clone(&asked), Arc::clone(&asked));
    let nobody_answers = move |_: FormRequest| {
        shown.notify_one();
        std::future::pending::<Result<ElicitResult, String>>()
    };
    let first = Client::builder(script.clone()).on_elicit(nobody_answers).build();
    let call = first.prepare_tool("book", json!({ "port": "Kirkwall" }))?;
    assert!(run_or_save(&first, call, &file, stop.notified()).await?.is_none());

    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file)?.permissions());
        assert_eq!(mode & 0o777, 0o600, "it is for this user alone");
    }
    let next = Client::builder(script).on_elicit(fill_in).build();
    let call: PendingCall = serde_json::from_slice(&std::fs::read(&file)?)?;
    let result = run_or_save(&next, call, &file, std::future::pending()).await?;
    assert_eq!(result.map(|result| result.text()), Some("Ada is booked".into()));
    Ok(())
}

/// Says why a call that was saved at this time can no longer be resumed, as far as that shows without sending it.
async fn is_lost(client: &Client, call: &PendingCall, saved: SystemTime) -> Result<Option<&'static str>> {
    if call.server() != Some(client.server()) {
        return Ok(Some("it belongs to another server"));
    }
    // As long as the tools of this server say; an hour by default.
    if saved.elapsed()? > Duration::from_hours(1) {
        return Ok(Some("its state has expired"));
    }
    let tools = client.list_tools().await?;
    let has_tool = tools.iter().any(|tool| Some(&tool.name) == call.name().as_ref());
    Ok(if has_tool { None } else { Some("the server has no such tool any more") })
}

#[tokio::test]
async fn a_call_that_is_lost_is_found_out_before_the_person_is_asked() -> Result<()> {
    let server = || Server::builder("greeter", "1.0.0");
    let client = |url: String| Ok::<_, Failure>(Client::builder(HttpTransport::new(&url)?).on_elicit(fill_in).build());
    let first = client(serve(server().tool(Tool::new("greet", greet)).build()?)?)?;
    let RoundOutcome::Asked(call) = first.call_tool_once("greet", json!({})).await? else {
        return Err("it asks".into());
    };
    let now = SystemTime::now();
    assert_eq!(is_lost(&first, &call, now).await?, None);
    assert_eq!(is_lost(&first, &call, now - Duration::from_hours(2)).await?, Some("its state has expired"));
    let second = client(serve(server().tool(Tool::new("weather", weather)).build()?)?)?;
    assert_eq!(is_lost(&second, &call, now).await?, Some("it belongs to another server"));
    let moved = call.trust_other_server(second.server());
    assert_eq!(is_lost(&second, &moved, now).await?, Some("the server has no such tool any more"));
    Ok(())
}

#[test]
fn a_saved_call_has_the_members_that_the_page_shows() -> Result<()> {
    let mut blocks = crate::page::blocks("json").filter(|block| block.page.path == "guide/HOSTS.md");
    let shown: Value = serde_json::from_str(blocks.next().ok_or("the page shows a saved call")?.text)?;
    let call: PendingCall = serde_json::from_value(shown.clone())?;
    assert_eq!(call.unanswered().collect::<Vec<_>>(), ["seat"]);
    assert_eq!(serde_json::to_value(&call)?, shown);
    Ok(())
}

/// Gets a prompt and a resource by hand: what they ask is answered, and each is read as its own type.
async fn read_by_hand(client: &Client) -> Result<(usize, usize)> {
    let prompt = match client.get_prompt_once("review", json!({ "language": "rust" })).await? {
        RoundOutcome::Asked(mut call) => {
            answer(&mut call)?;
            client.resume_as::<GetPromptResult>(call).await?
        }
        other => return Err(format!("nothing was asked: {other:?}").into()),
    };
    let RoundOutcome::Complete(resource) = client.read_resource_once("docs://guide").await? else {
        return Err("a resource that does not ask".into());
    };
    let resource: ReadResourceResult = resource.to()?;
    Ok((prompt.messages.len(), resource.contents.len()))
}

#[tokio::test]
async fn a_prompt_that_asks_is_answered_by_hand() -> Result<()> {
    let script = Script::new()
        .result(asks_name())
        .result(json!({ "resultType": "complete", "messages": [] }))
        .result(json!({ "resultType": "complete", "contents": [], "ttlMs": 0, "cacheScope": "private" }));
    let client = Client::builder(script).on_elicit(fill_in).build();
    assert_eq!(read_by_hand(&client).await?, (0, 0));
    Ok(())
}

/// Sends a request of any method: here one that only this server has.
async fn request(client: &Client) -> Result<Value> {
    let call = client.prepare("com.example/tides", JsonObject::of(&json!({ "port": "Kirkwall" }))?);
    Ok(client.resume_as::<Json>(call).await?.to()?)
}

#[tokio::test]
async fn a_method_of_an_application_is_called() -> Result<()> {
    let script = Script::new().result(json!({ "resultType": "complete", "high": "06:12" }));
    let client = Client::builder(script.clone()).build();
    assert_eq!(request(&client).await?["high"], "06:12");
    assert!(script.sent()[0].as_str().contains("com.example/tides"));
    Ok(())
}

/// Starts a report, and returns the handle of its task as text to be saved.
async fn start_report(client: &Client) -> Result<String> {
    match client.call_tool_once("report", json!({})).await? {
        RoundOutcome::Task(call, _) => Ok(serde_json::to_string(&call.task())?),
        other => Err(format!("it did not become a task: {other:?}").into()),
    }
}

/// Follows the report to its end, in any process of this host.
async fn finish_report(client: &Client, handle: &str) -> Result<CallToolResult> {
    let task: PendingTask = serde_json::from_str(handle)?;
    Ok(client.follow(task).await?.to()?)
}

/// Cancels the report, and says if that came in time.
async fn cancel_report(client: &Client, handle: &str) -> Result<CancelOutcome> {
    let task: PendingTask = serde_json::from_str(handle)?;
    Ok(client.cancel_task(&task).await?)
}

/// Follows several tasks at once, and returns the results, each with the id of its task, as they come.
async fn follow_all(client: &Client, tasks: Vec<PendingTask>) -> Vec<(String, Result<Json, CallError>)> {
    let mut following = JoinSet::new();
    for task in tasks {
        let client = client.clone(); // the same client
        following.spawn(async move { (task.id().to_owned(), client.follow(task).await) });
    }
    following.join_all().await
}

async fn report(flow: Flow) -> Result<String> {
    let Name { name } = flow.elicit("name", "For whom?").await?;
    Ok(format!("A report for {name}"))
}

#[tokio::test]
async fn a_task_is_left_and_followed_and_another_one_cancelled() -> Result<()> {
    let tasks = Tasks::new(MemoryTaskStore::default());
    let tool = Tool::new("report", report).tasks(TaskPolicy::Required);
    let url = serve(Server::builder("reports", "1.0.0").tool(tool).extension(tasks.clone()).build()?)?;
    let client = || Ok::<_, Failure>(Client::builder(HttpTransport::new(&url)?).on_elicit(fill_in).build());
    let handle = start_report(&client()?).await?;
    assert_eq!(finish_report(&client()?, &handle).await?.text(), "A report for Ada");

    let handles = [start_report(&client()?).await?, start_report(&client()?).await?];
    let both = handles.iter().map(|handle| serde_json::from_str(handle)).collect::<Result<Vec<PendingTask>, _>>()?;
    let ids: BTreeMap<_, _> = both.iter().map(|task| (task.id().to_owned(), "A report for Ada".to_owned())).collect();
    let mut texts = BTreeMap::new();
    for (id, result) in follow_all(&client()?, both).await {
        texts.insert(id, result?.to::<CallToolResult>()?.text());
    }
    assert_eq!(texts, ids);

    let other = start_report(&client()?).await?;
    cancel_report(&client()?, &other).await?;
    let ended = format!("{:?}", finish_report(&client()?, &other).await.expect_err("it was cancelled"));
    assert!(ended.contains("the task was cancelled"), "{ended}");
    tasks.shut_down().await;
    Ok(())
}

/// Shows what happens in the calls of a client, until the client is gone.
async fn show(mut events: Events, screen: &Screen) {
    while let Some(event) = events.next().await {
        let name = Printable::line(event.name.as_deref().unwrap_or_default()).to_string();
        match event.kind {
            EventKind::Progress(progress) => {
                let message = progress.message.unwrap_or_default();
                screen.line(format!("{name}: {} {}", progress.progress, Printable::line(&message)));
            }
            EventKind::Log(log) => screen.line(format!("{name} logs: {}", Printable::line(log.data.as_str()))),
            EventKind::Asked(keys) => screen.line(format!("{name} waits for {}", Printable::line(&keys.join(", ")))),
            EventKind::Task(_) => screen.line(format!("{name} works on its own, and is followed")),
            _ => {}
        }
    }
}

/// Calls a tool, and shows what happens in this call, and in no other, on a screen of its own.
async fn call_on_a_screen(
    transport: HttpTransport,
    tool: &str,
    arguments: Value,
    screen: &Screen,
) -> Result<CallToolResult> {
    let client = Client::builder(transport).on_elicit(fill_in).build();
    let shown = show(client.events(), screen);
    let call = async move { client.call_tool(tool, arguments).await }; // ends with its client, and so do the events
    Ok(tokio::join!(call, shown).0?)
}

#[data]
struct Copying {
    what: String,
}

async fn copy_it(flow: Flow, Copying { what }: Copying) -> Result<String> {
    flow.progress(1, None, &*what).await;
    Ok(what)
}

#[tokio::test]
async fn each_of_two_calls_at_once_has_its_own_screen() -> Result<()> {
    let server = Server::builder("copier", "1.0.0").tool(Tool::new("copy", copy_it)).build()?;
    let transport = HttpTransport::new(&serve(server)?)?;
    let (ours, theirs) = (Screen::default(), Screen::default());
    let call = |what, screen| call_on_a_screen(transport.clone(), "copy", json!({ "what": what }), screen);
    let (first, second) = tokio::join!(call("maps", &ours), call("charts", &theirs));
    assert_eq!([first?.text(), second?.text()], ["maps", "charts"]);
    assert_eq!([ours.lines(), theirs.lines()], [["copy: 1 maps"], ["copy: 1 charts"]]);
    Ok(())
}

/// The lines that a person sees.
#[derive(Clone, Default)]
struct Screen(Arc<Mutex<Vec<String>>>);

impl Screen {
    fn line(&self, line: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A client that gets warnings of its servers, and tells them where its calls stand in a trace.
fn observed(transport: impl Transport) -> Client {
    Client::builder(transport)
        .log_level(LoggingLevel::Warning)
        .trace_context(|| TraceContext { traceparent: Some(current_span()), ..TraceContext::default() })
        .on_elicit(fill_in)
        .build()
}

fn current_span() -> String {
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into()
}

async fn copy(flow: Flow) -> Result<String> {
    let Name { name } = flow.elicit("name", "Who copies?").await?;
    flow.progress(1, Some(2), "half of it").await;
    flow.log(LoggingLevel::Warning, "the disk is nearly full").await;
    flow.log(LoggingLevel::Debug, "not wanted").await;
    Ok(format!("{name} has a copy"))
}

#[tokio::test]
async fn progress_and_logs_are_shown() -> Result<()> {
    let server = Server::builder("copier", "1.0.0").tool(Tool::new("copy", copy)).build()?;
    let client = observed(HttpTransport::new(&serve(server)?)?);
    let screen = Screen::default();
    let showing = tokio::spawn({
        let (events, screen) = (client.events(), screen.clone());
        async move { show(events, &screen).await }
    });
    client.call_tool("copy", json!({})).await?;
    drop(client);
    showing.await?;
    let expected =
        ["copy waits for name", "copy: 1 half of it", r#"copy logs: "the disk is nearly full""#].map(str::to_owned);
    assert_eq!(screen.lines(), expected);
    Ok(())
}

/// Lists what a server has, and reads some of it.
async fn look_around(client: &Client) -> Result<Vec<String>> {
    let mut lines = vec![client.discover().await?.instructions.unwrap_or_default()];
    for tool in client.list_tools().await? {
        lines.push(format!("tool {}: {}", tool.name, tool.description.unwrap_or_default()));
    }
    for prompt in client.list_prompts().await? {
        lines.push(format!("prompt {}", prompt.name));
    }
    for resource in client.list_resources().await? {
        lines.push(format!("resource {}", resource.uri));
    }
    for template in client.list_resource_templates().await? {
        lines.push(format!("template {}", template.uri_template));
    }
    let typed = CompletionArgument::new("language", "ru");
    let found = client.complete(&CompleteParams::new(PromptReference::new("review"), typed)).await?;
    lines.push(format!("completions: {}", found.completion.values.as_slice().join(", ")));
    let prompt = client.get_prompt("review", json!({ "language": "rust" })).await?;
    lines.push(format!("{} message", prompt.messages.len()));
    let guide = client.read_resource("docs://guide").await?;
    lines.push(format!("{} content", guide.contents.len()));
    Ok(lines.into_iter().map(|line| Printable::line(&line).to_string()).collect())
}

/// Gets the tools anew, because something outside of the protocol said that they have changed.
async fn list_again(client: &Client) -> Result<usize> {
    client.clear_cache();
    Ok(client.list_tools().await?.len())
}

/// Says what is at the other end.
fn describe(client: &Client) -> String {
    let era = match client.era() {
        Some(Era::Legacy) => "holds calls while it asks",
        Some(_) => "keeps nothing while it asks",
        None => "has not been called yet",
    };
    format!("{} speaks {}, and {era}", client.server(), client.revision())
}

#[data]
struct Review {
    language: String,
}

async fn review(_: Flow, review: Review) -> Result<String> {
    Ok(format!("Please review this {} program", review.language))
}

async fn guide(_: Flow) -> Result<String> {
    Ok("Read me".into())
}

#[tokio::test]
async fn a_host_looks_around_and_keeps_what_it_may() -> Result<()> {
    let languages = async |_: Flow, typed: Completing| {
        let known = ["python", "rust", "ruby"];
        Ok::<_, Failure>(
            known.into_iter().filter(|name| name.starts_with(&typed.value)).map(str::to_owned).collect::<Vec<_>>(),
        )
    };
    let server = Server::builder("docs", "1.0.0")
        .instructions("Reviews programs")
        .tool(Tool::new("weather", weather).description("Says how the weather is"))
        .prompt(Prompt::new("review", review).complete("language", languages))
        .resource(Resource::new("docs://guide", "guide", guide))
        .build()?;
    let client = Client::builder(HttpTransport::new(&serve(server)?)?).build();
    assert!(describe(&client).ends_with("has not been called yet"), "{}", describe(&client));
    let expected = [
        "Reviews programs",
        "tool weather: Says how the weather is",
        "prompt review",
        "resource docs://guide",
        "completions: rust, ruby",
        "1 message",
        "1 content",
    ];
    assert_eq!(look_around(&client).await?, expected);
    assert_eq!(list_again(&client).await?, 1);
    assert!(describe(&client).ends_with("speaks 2026-07-28, and keeps nothing while it asks"), "{}", describe(&client));
    Ok(())
}

/// A client that gives up sooner, and that gives the person a day.
fn impatient(transport: impl Transport) -> Client {
    let day = Duration::from_hours(24);
    let limits = Limits { exchange: Duration::from_secs(20), gathering: Some(day), rounds: 5, ..Limits::default() };
    Client::builder(transport).limits(limits).build()
}

/// Gives a call a minute. Then it is cancelled, and the server is told.
async fn within_a_minute(client: &Client) -> Result<CallToolResult> {
    let call = client.call_tool("weather", json!({}));
    Ok(tokio::time::timeout(Duration::from_mins(1), call).await??)
}

/// What `forecast` returns for programs.
#[data]
struct Forecast {
    degrees: i64,
}

/// Reads what a tool returned for programs. `None` if it returned text alone.
async fn forecast(client: &Client) -> Result<Option<Forecast>> {
    let result = client.call_tool("forecast", json!({ "city": "Oslo" })).await?;
    Ok(result.structured_content.map(|content| content.as_json().to()).transpose()?)
}

#[tokio::test]
async fn what_is_for_programs_is_read_as_a_type() -> Result<()> {
    let mut structured = complete("7 degrees");
    structured["structuredContent"] = json!({ "degrees": 7 });
    let client = Client::builder(Script::new().result(structured).result(complete("7 degrees"))).build();
    assert_eq!(forecast(&client).await?.map(|forecast| forecast.degrees), Some(7));
    assert!(forecast(&client).await?.is_none());
    Ok(())
}

#[tokio::test]
async fn a_call_ends_within_its_time() -> Result<()> {
    let client = impatient(Script::new().result(complete("Rain")));
    assert_eq!(within_a_minute(&client).await?.text(), "Rain");
    Ok(())
}

/// A client for servers of the legacy era alone, whose session ends with `close`.
async fn call_in_a_session(url: &str) -> Result<String> {
    let client = Client::builder(HttpTransport::new(url)?).revision(Revision::V2025_11_25).on_elicit(fill_in).build();
    let text = client.call_tool("greet", json!({})).await?.text();
    client.close().await;
    Ok(text)
}

async fn greet(flow: Flow) -> Result<String> {
    let Name { name } = flow.elicit("name", "Who are you?").await?;
    Ok(format!("Hello, {name}"))
}

#[tokio::test]
async fn a_session_is_ended() -> Result<()> {
    let server = Server::builder("greeter", "1.0.0").tool(Tool::new("greet", greet)).build()?;
    assert_eq!(call_in_a_session(&serve(server.clone())?).await?, "Hello, Ada");
    assert_eq!(server.sessions().open(), 0);
    Ok(())
}

#[tokio::test]
async fn a_host_may_decide_by_itself_which_urls_it_opens() -> Result<()> {
    let asks = json!({
        "resultType": "input_required",
        "inputRequests": { "page": {
            "method": "elicitation/create",
            "params": { "mode": "url", "message": "Open", "url": "app://desk/1", "elicitationId": "1" },
        } },
    });
    let client =
        |script: Script| Client::builder(script).on_url(async |request: UrlRequest| Answered::Ok(request.decline()));
    let refused = client(Script::new().result(asks.clone())).build().call_tool("desk", json!({})).await;
    assert!(matches!(refused.expect_err("the client opens no such URL").kind, CallErrorKind::BadQuestion { .. }));
    let asked = client(Script::new().result(asks).result(complete("done"))).danger_accept_any_url().build();
    assert_eq!(asked.call_tool("desk", json!({})).await?.text(), "done");
    drop(opens_what_it_likes(Script::new()));
    Ok(())
}
