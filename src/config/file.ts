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
  debug_state: z.boolean().default(false),
});

export type FileSettings = z.output<typeof fileSchema>;
export type ModelSettings = z.output<typeof modelSchema> & { readonly apiKey?: string };
export type TitleSettings = FileSettings["title"];
export type SummarizationSettings = FileSettings["summarization"];
export type LimitSettings = FileSettings["limits"];
