//! A form in a UI of one's own, as HTML, and what a browser posts, as an answer.
#![allow(clippy::wildcard_imports, reason = "what the page takes in")]

use std::collections::BTreeSet;

use super::*;

/// What a person entered, by the name of the field: several values only where several options were chosen.
type Posted = BTreeMap<String, Vec<String>>;

/// What is wrong with it, by the name of the field.
type Wrong = BTreeMap<String, String>;

/// Turns a form into the fields of an HTML form, with what was entered before and what was wrong with it.
fn html(form: &Form, posted: &Posted, wrong: &Wrong) -> String {
    let label = |field: Field<'_>| {
        let (title, note) = (escape(&field.title()), escape(&field.constraints().to_string()));
        let description = escape(&field.description().unwrap_or_default());
        let (widget, reason) = (widget(&field, posted), escape(wrong.get(field.name).map_or("", String::as_str)));
        let mark = if field.is_required { " *" } else { "" };
        format!("<label>{title}{mark} <small>{description} {note}</small> {widget} <em>{reason}</em></label>\n")
    };
    form.fields().map(label).collect::<Vec<_>>().concat()
}

/// The widget of a field: one for each kind there is.
fn widget(field: &Field<'_>, posted: &Posted) -> String {
    let (name, entered) = (escape(field.name), posted.get(field.name).map_or(&[][..], Vec::as_slice));
    let is_chosen = |value: &str| {
        if posted.is_empty() { is_default(field, value) } else { entered.iter().any(|text| text == value) }
    };
    match field.kind() {
        FieldKind::Text | FieldKind::Number | FieldKind::Integer => {
            let kind = match field.constraints().format {
                Some(StringFormat::Email) => "email",
                Some(StringFormat::Uri) => "url",
                Some(StringFormat::Date) => "date",
                _ => "text",
            };
            let shown = entered.first().cloned().or_else(|| field.default_text()).unwrap_or_default();
            format!(r#"<input name="{name}" type="{kind}" value="{}">"#, escape(&shown))
        }
        FieldKind::Boolean => {
            let checked = if is_chosen("true") { " checked" } else { "" };
            format!(r#"<input name="{name}" type="checkbox" value="true"{checked}>"#)
        }
        kind @ (FieldKind::Select | FieldKind::MultiSelect) => {
            let multiple = if kind == FieldKind::MultiSelect { " multiple" } else { "" };
            let mut options = Vec::new();
            // Without it, a browser would choose the first option for the person.
            if kind == FieldKind::Select && field.default().is_none() {
                options.push("<option></option>".to_owned());
            }
            for option in field.options() {
                let selected = if is_chosen(option.value) { " selected" } else { "" };
                let (value, title) = (escape(option.value), escape(&option.title()));
                options.push(format!(r#"<option value="{value}"{selected}>{title}</option>"#));
            }
            let options = options.concat();
            format!(r#"<select name="{name}"{multiple}>{options}</select>"#)
        }
    }
}

/// Returns true if the server suggests this value.
fn is_default(field: &Field<'_>, value: &str) -> bool {
    match field.default().and_then(|default| default.to::<Value>().ok()) {
        Some(Value::String(text)) => text == value,
        Some(Value::Array(texts)) => texts.iter().any(|text| text == value),
        Some(Value::Bool(on)) => on.to_string() == value,
        _ => false,
    }
}

/// Escapes a text for HTML: names, titles and options are the server's words.
fn escape(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    escaped.replace('"', "&quot;").replace('\'', "&#39;")
}

/// Reads what a browser posted as the content of an answer, or says what is wrong, by field.
fn read(form: &Form, posted: &Posted) -> Result<JsonObject, Wrong> {
    let (mut content, mut wrong) = (BTreeMap::new(), BTreeMap::new());
    for field in form.fields() {
        let values = posted.get(field.name).map_or(&[][..], Vec::as_slice);
        let first = values.first().map_or("", String::as_str);
        let value = match field.kind() {
            // A browser posts nothing for a box that is not ticked.
            FieldKind::Boolean => Json::from(Value::from(first == "true")),
            FieldKind::MultiSelect if values.is_empty() && !field.is_required && field.default().is_none() => continue,
            FieldKind::MultiSelect => Json::from(Value::from(values.to_vec())),
            _ if first.is_empty() && field.is_required => {
                wrong.insert(field.name.to_owned(), "is needed".to_owned());
                continue;
            }
            // What was left empty is left out, and gets its default.
            _ if first.is_empty() => continue,
            FieldKind::Select => Json::from(Value::from(first)),
            FieldKind::Text | FieldKind::Number | FieldKind::Integer => match field.parse(first) {
                Ok(value) => value,
                Err(reason) => {
                    wrong.insert(field.name.to_owned(), reason.to_string());
                    continue;
                }
            },
        };
        if let Err(reason) = field.check(&value) {
            wrong.insert(field.name.to_owned(), reason.to_string());
        }
        content.insert(field.name, value);
    }
    if wrong.is_empty() { Ok(JsonObject::of(&content).expect("a map is an object")) } else { Err(wrong) }
}

/// A question of a saved call as a form, with what was entered before and what was wrong with it.
fn question(call: &PendingCall, number: usize, posted: &Posted, wrong: &Wrong) -> Option<String> {
    let (key, question) = call.questions().nth(number)?;
    let InputKind::Form(params) = question.kind() else { return None };
    let (server, message) = (call.server().unwrap_or_default(), call.message(key).unwrap_or_default());
    let asks = format!("<p>{} asks: {}</p>", escape(server), escape(&message));
    let fields = html(&params.requested_schema, posted, wrong);
    // The path tells which question it is, since the names of fields are the server's.
    let action = format!("questions/{number}");
    Some(format!(r#"<form method="post" action="{action}">{asks}{fields}<button>Send</button></form>"#))
}

/// The page for a saved call: its open forms.
fn page(call: &PendingCall) -> String {
    let open: Vec<_> = call.unanswered().collect();
    let numbers = call.questions().enumerate().filter(|(_, (key, _))| open.contains(key)).map(|(number, _)| number);
    numbers.filter_map(|number| question(call, number, &Posted::new(), &Wrong::new())).collect::<Vec<_>>().concat()
}

/// Takes what was posted for a question into the saved call, or returns the page that says what is wrong.
fn post(call: &mut PendingCall, number: usize, posted: &Posted) -> Result<(), String> {
    let (key, asked) = call.questions().nth(number).ok_or("that was not asked")?;
    let InputKind::Form(params) = asked.kind() else { return Err("that is not a form".into()) };
    let key = key.to_owned();
    let again = |call: &PendingCall, wrong: &Wrong| question(call, number, posted, wrong).unwrap_or_default();
    let content = read(&params.requested_schema, posted).map_err(|wrong| again(call, &wrong))?;
    let taken = call.accept(&key, &content);
    taken.map_err(|error| format!("<p>{}</p>{}", escape(&error.to_string()), again(call, &Wrong::new())))
}

/// A call that asks for a booking, in the form that the guide shows, with a title that is not to be trusted.
async fn asked() -> Result<(Client, Script, PendingCall)> {
    let form = crate::page::blocks("json").find(|block| block.contains("newsletter")).ok_or("the guide has a form")?;
    let mut form: Value = serde_json::from_str(form.text)?;
    form["properties"]["name"]["title"] = json!("<script>Name</script>");
    let asks = json!({ "method": "elicitation/create",
        "params": { "mode": "form", "message": "What shall be booked? <b>", "requestedSchema": form } });
    let script = Script::new()
        .result(json!({ "resultType": "input_required", "requestState": "s", "inputRequests": { "booking": asks } }))
        .result(json!({ "resultType": "complete", "content": [{ "type": "text", "text": "Booked" }] }));
    let client = Client::builder(script.clone()).on_elicit(async |form: FormRequest| form.cancel()).build();
    let RoundOutcome::Asked(call) = client.call_tool_once("book", json!({})).await? else {
        return Err("it asks".into());
    };
    Ok((client, script, call))
}

fn posted(fields: &[(&str, &[&str])]) -> Posted {
    let owned = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    fields.iter().map(|(name, values)| ((*name).to_owned(), owned(values))).collect()
}

#[tokio::test]
async fn a_form_becomes_a_page_on_which_no_text_of_the_server_is_html() -> Result<()> {
    let (_, _, call) = asked().await?;
    let page = page(&call);
    for part in [
        "a script asks: What shall be booked? &lt;b&gt;",
        "<label>&lt;script&gt;Name&lt;/script&gt; * <small>As it stands in your passport",
        r#"<input name="mail" type="email" value="">"#,
        r#"<input name="day" type="date" value="">"#,
        r#"1 to 9</small> <input name="seats" type="text" value="1">"#,
        r#"<select name="class"><option></option><option value="Second">"#,
        r#"<option value="First">First class, with breakfast</option>"#,
        r#"<select name="extras" multiple>"#,
        r#"<input name="newsletter" type="checkbox" value="true">"#,
        r#"<form method="post" action="questions/0">"#,
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    Ok(())
}

#[tokio::test]
async fn what_is_posted_is_checked_by_field_and_then_sent() -> Result<()> {
    let (client, script, mut call) = asked().await?;
    let wrong = [("mail", &["ada"][..]), ("day", &["2026-08-31"]), ("class", &["Third"]), ("seats", &["12"])];
    let page = post(&mut call, 0, &posted(&wrong)).expect_err("it does not fit");
    for part in [
        "<em>is needed</em>",
        r#"value="ada"> <em>expected an e-mail address</em>"#,
        r#"value="12"> <em>expected 1 to 9</em>"#,
        "a script asks: What shall be booked? &lt;b&gt;",
        r#"<form method="post" action="questions/0">"#,
        "<button>Send</button>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(call.unanswered().count(), 1, "nothing was taken");
    assert!(post(&mut call, 1, &posted(&wrong)).is_err(), "there is one question");

    let right = [
        ("name", &["Ada"][..]),
        ("mail", &["ada@example.com"]),
        ("day", &["2026-08-31"]),
        ("class", &["First"]),
        ("extras", &["Bicycle", "Quiet coach"]),
        ("wishes", &[""]),
    ];
    post(&mut call, 0, &posted(&right))?;
    assert_eq!(client.resume(call).await?.text(), "Booked");
    let sent: Value = script.sent()[1].to()?;
    let content = &sent["params"]["inputResponses"]["booking"]["content"];
    let expected = json!({ "name": "Ada", "mail": "ada@example.com", "day": "2026-08-31", "seats": 1,
        "class": "First", "extras": ["Bicycle", "Quiet coach"], "newsletter": false });
    assert_eq!(*content, expected);
    Ok(())
}

/// Asks until what the person enters fits, or until they leave.
async fn ask_again(form: FormRequest, screen: &Screen) -> Result<ElicitResult, AnswerError> {
    loop {
        let Some(content) = screen.show(form.form()).await else { return form.cancel() };
        match form.check(&content) {
            Ok(()) => return form.accept(&content),
            Err(reason) => screen.say(&reason.to_string()),
        }
    }
}

/// Plays a screen: a person who types too much at first.
#[derive(Clone, Default)]
struct Screen(std::sync::Arc<std::sync::Mutex<(usize, BTreeSet<String>)>>);

impl Screen {
    async fn show(&self, _: &Form) -> Option<Value> {
        let mut shown = self.0.lock().expect("no test panics with it");
        shown.0 += 1;
        let port = if shown.0 == 1 { "Kirkwall, on the Orkney Islands" } else { "Kirkwall" };
        (shown.0 < 10).then(|| json!({ "port": port }))
    }

    fn say(&self, reason: &str) {
        self.0.lock().expect("no test panics with it").1.insert(reason.to_owned());
    }
}

#[data]
struct Port {
    #[schemars(length(max = 10))]
    port: String,
}

async fn cross(flow: Flow) -> Result<String> {
    let Port { port } = flow.elicit("port", "Where to?").await?;
    Ok(format!("To {port}"))
}

#[tokio::test]
async fn a_handler_asks_until_the_answer_fits() -> Result<()> {
    let server = Server::builder("harbour", "1.0.0").tool(Tool::new("cross", cross)).build()?;
    let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0")?;
    let transport = HttpTransport::new(&format!("http://{}/mcp", bound.address()?))?;
    tokio::spawn(bound.run(std::future::pending()));
    let screen = Screen::default();
    let shown = screen.clone();
    let asking = move |form| {
        let screen = shown.clone();
        async move { ask_again(form, &screen).await }
    };
    let client = Client::builder(transport).on_elicit(asking).build();
    assert_eq!(client.call_tool("cross", json!({})).await?.text(), "To Kirkwall");
    let said = screen.0.lock().expect("no test panics with it").1.clone();
    let said: Vec<_> = said.iter().map(String::as_str).collect();
    let [reason] = said[..] else { return Err(format!("one reason: {said:?}").into()) };
    assert!(reason.starts_with("the answer to `port` does not fit") && reason.contains("10 characters"), "{reason}");
    Ok(())
}
