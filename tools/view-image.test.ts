import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openToolSetting, type ToolSetting } from "../test/helpers/tool-call.ts";
import { createViewImageTool } from "./view-image.ts";

const PNG = new URL("../node_modules/vega-datasets/data/7zip.png", import.meta.url);
const path = "/mnt/user-data/uploads/chart.png";
let setting: ToolSetting;
beforeEach(async () => {
  setting = await openToolSetting();
});
afterEach(() => setting.close());

describe("view_image", () => {
  const write = (bytes: Uint8Array, name = path) => setting.files.write(setting.threadId, name, bytes);
  const fails = (maxBytes?: number) =>
    setting.failure(createViewImageTool({ files: setting.files, maxBytes }), { image_path: path });

  it("puts the image into the state, and no data into the message", async () => {
    const png = await readFile(PNG);
    await write(png);
    const tool = createViewImageTool(setting);
    const { viewed_images } = await setting.update(tool, { image_path: "/mnt/user-data//uploads/chart.png" });
    expect(viewed_images).toEqual({ [path]: { base64: png.toString("base64"), mime_type: "image/png" } });
    expect(await setting.call(tool, { image_path: path })).toBe(
      `${path} (image/png, ${png.length} bytes) is shown to you now.`,
    );
  });

  it("believes the bytes, not the name", async () => {
    await write(Buffer.from("GIF89a\x01\0\x01\0\0\0\0;", "latin1"));
    const { viewed_images } = await setting.update(createViewImageTool(setting), { image_path: path });
    expect(viewed_images).toMatchObject({ [path]: { mime_type: "image/gif" } });
  });

  it("refuses what is no image for a model, under whatever name", async () => {
    await write(Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'/>"));
    expect(await fails()).toContain("only PNG, JPEG, GIF and WebP");
    await write(Buffer.from("%PDF-1.7\n%âãÏÓ\n"));
    expect(await fails()).toContain("application/pdf");
    await write(Buffer.from(""));
    expect(await fails()).toContain("no known kind of image");
  });

  it("refuses images that are too large, missing or outside", async () => {
    await write(await readFile(PNG));
    expect(await fails(100)).toContain("more than the 100");
    const tool = createViewImageTool(setting);
    expect(await setting.failure(tool, { image_path: "/mnt/user-data/uploads/none.png" })).toContain(
      "no file",
    );
    expect(await setting.failure(tool, { image_path: "/etc/logo.png" })).toContain("not inside");
  });
});
