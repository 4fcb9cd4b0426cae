# syntax=docker/dockerfile:1
# The demo tools of `mrtr serve`, from the repository: docker build --file examples/deployment/mrtr.Dockerfile --tag mrtr .
FROM rust:1-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --locked --release --package mrtr-cli && cp target/release/mrtr /usr/local/bin/mrtr && mkdir /data

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /usr/local/bin/mrtr /usr/local/bin/mrtr
COPY --from=build --chown=65532:65532 /data /data
USER 65532:65532
EXPOSE 8000
VOLUME /data
# Without MRTR_STATE_KEYS, which `docker run --env` passes on, calls and tasks that wait are lost with a restart.
# Without a shell and without curl, the program checks itself: it lists its tools, as a client would.
HEALTHCHECK --start-period=5s CMD ["/usr/local/bin/mrtr", "tools", "http://127.0.0.1:8000/mcp"]
ENTRYPOINT ["/usr/local/bin/mrtr"]
CMD ["serve", "--listen", "0.0.0.0", "--probes", "--db", "/data/tasks.sqlite"]
