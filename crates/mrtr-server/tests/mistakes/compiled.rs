//! Mistakes that the compiler finds: its words, which `tests/compile_fail` holds, name the place and the remedy.

/// The words of a file there.
macro_rules! words {
    ($name:literal) => {
        ($name, include_str!(concat!("../compile_fail/", $name, ".stderr")))
    };
}

#[test]
fn what_the_compiler_says_names_the_place_and_the_remedy() {
    let data = "write `#[data]` of `mrtr` above";
    let cases = [
        (words!("handler_not_send"), "14:24", "across an `.await`, `Arc` for `Rc`, no lock guard of std's"),
        (words!("handler_not_async"), "10:24", "write `async fn`"),
        (words!("handler_without_result"), "10:24", "write `-> Result<String, Failure>` and end in `Ok(…)`"),
        (words!("wrong_first_parameter"), "19:34", "its first parameter is a `Flow`, by value"),
        (words!("arguments_without_json_schema"), "15:24", data),
        (words!("arguments_without_deserialize"), "15:24", data),
        (
            words!("output_that_is_none"),
            "14:26",
            "as `Structured(value)`, any value of a type with `#[data]` of `mrtr`",
        ),
        (words!("structured_without_schema"), "15:26", data),
        (words!("step_value_that_is_not_recorded"), "10:37", data),
        (words!("form_without_json_schema"), "11:29", data),
        (words!("step_work"), "10:38", "end it in `Ok::<_, Failure>(value)`"),
    ];
    for ((name, text), place, remedy) in cases {
        let (first, _) = text.split_once("\n\n").unwrap_or((text, ""));
        assert!(first.contains(&format!("{name}.rs:{place}")), "{first}");
        assert!(first.contains(remedy), "{first}");
    }
}
