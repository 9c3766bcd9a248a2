// What the server wrote into the page: whose it is, and where the manager is.
const root = document.documentElement;

export const isManager = root.dataset.role === "manager";
export const managerURL = root.dataset.managerUrl ?? "";

// How much time the charts show, in which slots, and how often they are asked for.
export const ranges = {
  live: { span: 300, step: 10, every: 2000 },
  hour: { span: 3600, step: 10, every: 5000 },
  day: { span: 86400, step: 60, every: 30000 },
  month: { span: 30 * 86400, step: 3600, every: 60000 },
};
export const stepNames = { 10: "10s", 60: "1m", 3600: "1h" };
