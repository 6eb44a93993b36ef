// A table of weather for research to work on, made by rule: the same for each call.

/** A CSV of this many rows: day, town, temperature, rain. */
export function rainCsv(rows = 6_000): string {
  const towns = ["Bergen", "Bonn", "Porto"];
  const lines = Array.from({ length: rows }, (_, index) => {
    const day = new Date(Date.UTC(2000, 0, 1 + Math.floor(index / towns.length))).toISOString().slice(0, 10);
    const season = Math.cos(((index / towns.length) % 365.25) / 58.13);
    const town = index % towns.length;
    const temperature = (12 - 9 * season + town).toFixed(1);
    const rain = Math.max(0, 4 + 3 * season - town + ((index * 7919) % 13) / 4).toFixed(1);
    return `${day},${towns[town]},${temperature},${rain}`;
  });
  return `day,town,temperature,rain\n${lines.join("\n")}\n`;
}
