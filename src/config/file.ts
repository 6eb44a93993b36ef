// The optional config.yaml: models, title, summarization, limits. A key that is unknown is refused, so that a typing
// error does not silently leave the default.
import { z } from "zod";

export const modelSchema = z.strictObject({
  /** What `configurable.model_name` and GET /models say. */
  name: z.string().min(1),
  /** What the endpoint calls it; the name by default. */
  model: z.string().min(1).optional(),
  vision: z.boolean().default(true),
  base_url: z.url({ protocol: /^https?$/ }).optional(),
  /** Name of the environment variable that holds the key; OPENAI_API_KEY by default. */
  api_key_env: z.string().min(1).optional(),
  /** Seconds until a call that says nothing is given up. */
  timeout_seconds: z.number().positive().max(3600).default(120),
  max_retries: z.number().int().min(0).max(20).default(3),
  /** Tokens the model can read; tells when to summarize. */
  context_tokens: z.number().int().min(1000).default(128_000),
});

export const fileSchema = z.strictObject({
  models: z.array(modelSchema).min(1).optional(),
  title: z
    .strictObject({
      enabled: z.boolean().default(true),
      max_words: z.number().int().min(1).max(50).default(8),
      max_chars: z.number().int().min(10).max(500).default(80),
      prompt_template: z
        .string()
        .default(
          "Write a title of at most {max_words} words for this conversation. Answer with the title alone.\n\nUser: {user_msg}\n\nAssistant: {assistant_msg}",
        ),
    })
    .prefault({}),
  summarization: z
    .strictObject({
      enabled: z.boolean().default(true),
      /** Summarize when the messages have more tokens than this; 0.75 of the model's context by default. */
      trigger_tokens: z.number().int().min(500).optional(),
      /** Newest messages that stay as they are. */
      keep_messages: z.number().int().min(1).default(20),
    })
    .prefault({}),
  sessions: z
    .strictObject({
      /** Where the messages of a session are kept whose run does not say. */
      store: z.string().min(1).default("postgres"),
      /** Newest messages of a session that are kept; all by default. */
      max_messages: z.number().int().min(1).optional(),
      /** Hours that a session in Redis or memory is kept after its last use. */
      ttl_hours: z.number().positive().max(87_600).default(720),
      /** Of all sessions in memory together. */
      memory_mb: z.number().int().min(1).default(64),
    })
    .prefault({}),
  limits: z
    .strictObject({
      /** Supersteps of one run. */
      recursion_limit: z.number().int().min(5).max(10_000).default(200),
      command_timeout_seconds: z.number().positive().max(86_400).default(600),
      command_memory_mb: z.number().int().min(64).default(2048),
      sandbox_idle_seconds: z.number().positive().default(600),
      uploads_per_request: z.number().int().min(1).max(1000).default(10),
    })
    .prefault({}),
  research: z
    .strictObject({
      /** How far the `research` agent goes by itself; a run sets another by `research_mode`. */
      mode: z.enum(["semi-autonomous", "fully-autonomous", "steering"]).default("semi-autonomous"),
      /** Iterations of one message. In steering it is always one. */
      iterations: z
        .strictObject({
          semi_autonomous: z.number().int().min(1).max(50).default(3),
          fully_autonomous: z.number().int().min(1).max(50).default(10),
        })
        .prefault({}),
      /** Of uploads that are read. */
      max_file_mb: z.number().int().min(1).max(512).default(50),
      max_rows: z.number().int().min(1).default(1_000_000),
      max_pages: z.number().int().min(1).default(500),
      read_seconds: z.number().int().min(1).max(3600).default(60),
      read_memory_mb: z.number().int().min(1024).default(1024),
      /** Seconds between two requests to arXiv; its terms ask for three. */
      arxiv_pace_seconds: z.number().min(0).max(600).default(3),
      literature_timeout_seconds: z.number().positive().max(600).default(20),
      literature_retries: z.number().int().min(0).max(20).default(3),
    })
    .prefault({}),
  debug_state: z.boolean().default(false),
});

export type FileSettings = z.output<typeof fileSchema>;
export type ModelSettings = z.output<typeof modelSchema> & { readonly apiKey?: string };
export type TitleSettings = FileSettings["title"];
export type SummarizationSettings = FileSettings["summarization"];
export type SessionOptions = FileSettings["sessions"];
export type ResearchFileSettings = FileSettings["research"];
export type LimitSettings = FileSettings["limits"];
