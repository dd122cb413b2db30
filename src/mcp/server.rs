//! What a client may ask of the server, each request handed to the part that answers it.

use std::sync::Arc;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, ErrorData, GetPromptRequestParams,
    GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

use super::tools::{self, Asked};
use crate::base::text;

use super::{Served, answers, inbox, memory_tool, prompts, resources, run_blocking};

/// When to use the tools, for the agent's context.
const INSTRUCTIONS: &str = include_str!("../../templates/mcp/instructions.md");
/// How long a client may keep the lists of tools, templates and prompts: they never change while a
/// server runs.
const AN_HOUR: u64 = 3_600_000;

/// How long a client's name is shown.
const LONGEST_NAME: usize = 40;

/// The server.
pub struct Server {
    served: Arc<Served>,
}

impl Server {
    pub fn new(served: Arc<Served>) -> Server {
        Server { served }
    }

    /// The tools of this server, always the same and in the same order.
    fn tools(&self) -> Vec<Tool> {
        let memory_tool = self.served.memory_tool.then(memory_tool::tool);
        tools::all().into_iter().chain(memory_tool).collect()
    }

    /// Who asks, and about which memory.
    pub fn asked(&self, context: &RequestContext<RoleServer>) -> Asked {
        // One word: a client's name may read as the person's own, or as a line of a page.
        let client = context.client_info().map(|info| text::slug(&info.name, LONGEST_NAME));
        Asked { served: self.served.clone(), client: client.unwrap_or_default() }
    }

    /// Does work that reads the disk where it keeps nobody waiting.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Served) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let served = self.served.clone();
        run_blocking(move || work(&served)).await
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("memtree", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS.trim())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let all = ListToolsResult::with_all_items(self.tools());
        Ok(all.with_ttl_ms(AN_HOUR).with_cache_scope(CacheScope::Public))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let asked = self.asked(&context);
        let name = request.name.to_string();
        let arguments = serde_json::Value::Object(request.arguments.clone().unwrap_or_default());
        if self.served.memory_tool && name == memory_tool::NAME {
            return run_blocking(move || memory_tool::call(&asked, arguments)).await;
        }
        if !tools::is_known(&name) {
            let known = self.tools().iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>();
            let known = known.join(", ");
            let what = format!("there is no tool `{}`; there are {known}", answers::shown(&name));
            return Err(ErrorData::invalid_params(what, None));
        }
        if name == tools::REVIEW {
            return inbox::call(asked, request, context).await;
        }
        let answer = run_blocking(move || tools::call(&asked, &name, arguments)).await?;
        Ok(tools::response(answer))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        self.run(move |served| resources::list(served, cursor.as_deref())).await?
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let all = ListResourceTemplatesResult::with_all_items(resources::templates());
        Ok(all.with_ttl_ms(AN_HOUR).with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = self.run(move |served| resources::read(served, &request.uri)).await??;
        Ok(read.into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let all = ListPromptsResult::with_all_items(prompts::all());
        Ok(all.with_ttl_ms(AN_HOUR).with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let prompt = self
            .run(move |served| {
                prompts::prompt(served, &request.name, request.arguments.unwrap_or_default())
            })
            .await??;
        Ok(prompt.into())
    }
}
