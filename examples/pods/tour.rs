//! From a command to the file that shows it.

use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client};

use super::cli::{Command, HELP, Place, Usage};
use super::screen::Screen;
use super::{crud, exec, install, label, layers, logs, tree};

/// Runs a command; gives the exit code. `main` without a terminal and a kubeconfig: tests call it.
pub async fn run(
    usage: Usage,
    client: Client,
    screen: &Screen,
    errors: &Screen,
) -> anyhow::Result<u8> {
    let Usage { command, place } = usage;
    let pods: Api<Pod> = match &place {
        Place::Everywhere => Api::all(client.clone()),
        Place::Namespace(namespace) => Api::namespaced(client.clone(), namespace),
        Place::Default => Api::default_namespaced(client.clone()),
    };
    match command {
        Command::Help => screen.text(HELP)?,
        Command::Create { file } => crud::create(&pods, &crud::read(&file)?, screen).await?,
        Command::Get(what) => {
            let wide = place == Place::Everywhere;
            crud::get(&pods, &what, wide, screen, errors).await?;
        }
        Command::Label { name, change } => label::label(&pods, &name, &change, screen).await?,
        Command::Delete { name } => crud::delete(pods, &name, screen).await?,
        Command::Logs { name, options } => logs::show(&pods, &name, &options, screen).await?,
        Command::Exec(asked) => return exec::run(&pods, &asked, screen, errors).await,
        Command::Tree { name } => tree::show(client, &pods, &name, screen).await?,
        Command::Client => layers::client(pods, screen).await?,
        Command::Watcher => layers::watcher(pods, screen, errors).await?,
        Command::Reflector => layers::reflector(pods, screen, errors).await?,
        Command::Controller => layers::controller(pods, screen, errors).await?,
        Command::Install => install::install::<install::Note>(client, screen).await?,
    }
    Ok(0)
}
