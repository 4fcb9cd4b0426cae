//! Mistakes that the compiler finds: its words, which `tests/compile_fail` holds, name the place and the remedy.

/// The words of a file there.
macro_rules! words {
    ($name:literal) => {
        ($name, include_str!(concat!("../compile_fail/", $name, ".stderr")))
    };
}

#[test]
fn what_the_compiler_says_names_the_place_and_the_remedy() {
    let derives = "`#[derive(serde::Deserialize, schemars::JsonSchema)]";
    let cases = [
        (words!("handler_not_send"), "14:24", "across an `.await`, `Arc` for `Rc`, no lock guard of std's"),
        (words!("handler_not_async"), "10:24", "write `async fn`"),
        (words!("handler_without_result"), "10:24", "write `-> Result<String, Failure>` and end in `Ok(…)`"),
        (words!("wrong_first_parameter"), "19:34", "its first parameter is a `Flow`, by value"),
        (words!("arguments_without_json_schema"), "15:24", derives),
        (words!("arguments_without_deserialize"), "15:24", derives),
        (words!("output_that_is_none"), "14:26", "as `mrtr_server::Structured(value)`"),
        (words!("form_without_json_schema"), "11:29", derives),
        (words!("step_work"), "10:38", "end it in `Ok::<_, Failure>(value)`"),
    ];
    for ((name, text), place, remedy) in cases {
        let (first, _) = text.split_once("\n\n").unwrap_or((text, ""));
        assert!(first.contains(&format!("{name}.rs:{place}")), "{first}");
        assert!(first.contains(remedy), "{first}");
    }
}
