//! `mrtr postgres migrate`: the script, and the tables.

use mrtr_postgres::{ConnectError, PostgresOptions, PostgresStore, Schema, migrations};
use mrtr_postgres_cluster::Cluster;

use crate::program::{command, run};

#[test]
fn the_script_is_printed_without_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let staging: Schema = "mrtr_staging".parse().unwrap();
    let printed = run(folder.path(), &["postgres", "migrate", "--schema", "mrtr_staging", "--print"]);
    printed.gives(&migrations::sql(&staging));
    run(folder.path(), &["postgres", "migrate", "--print"]).gives(&migrations::sql(&Schema::default()));
    run(folder.path(), &["postgres", "migrate"]).says(2, &["ADDRESS"]);
    run(folder.path(), &["postgres", "migrate", "--print", "--schema", "Mrtr"]).says(2, &["a schema's name is"]);
    run(folder.path(), &["postgres", "migrate", "postgres://db:no-port"]).says(2, &["such as postgres://mrtr@"]);
    let nobody = ["postgres", "migrate", "host=127.0.0.1 port=1"];
    let nobody = run(folder.path(), &nobody);
    nobody.says(1, &["error: the database cannot be reached: Connection refused", "check the host and the port"]);
    assert!(!nobody.err.contains("TLS"), "{}", nobody.err);
}

#[tokio::test]
async fn an_instance_that_may_not_make_tables_starts_once_the_operator_has_made_them() {
    let Some(cluster) = Cluster::shared() else { return };
    let (folder, address) = (tempfile::tempdir().unwrap(), cluster.fresh_database().unwrap());
    let refused = unmigrated(&address).await.unwrap_err();
    assert!(matches!(refused, ConnectError::OlderSchema { found: 0, .. }), "{refused}");
    for said in ["schema mrtr: created, with version ", "schema mrtr: has version "] {
        run(folder.path(), &["postgres", "migrate", &address]).says(0, &[said]);
    }
    let nowhere = format!("{address}_nowhere");
    run(folder.path(), &["postgres", "migrate", &nowhere]).says(
        1,
        &[
            "error: the database cannot be reached: FATAL: database \"",
            "_nowhere\" does not exist",
            "check the database's name",
        ],
    );
    drop(unmigrated(&address).await.unwrap());

    let elsewhere = cluster.fresh_database().unwrap();
    let told = command(folder.path(), &["postgres", "migrate"]).env("MRTR_DATABASE", &elsewhere).status().unwrap();
    assert!(told.success());
    drop(unmigrated(&elsewhere).await.unwrap());
}

async fn unmigrated(address: &str) -> Result<PostgresStore, ConnectError> {
    PostgresOptions::new(address)?.migrate_at_start(false).connect().await
}
