// Predict with an exported file, with onnxruntime's C++ API.
//
//     ./answer parcels.onnx

#include <onnxruntime_cxx_api.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

// Missing values: of a number, of an integer or a time, of a string.
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kNoInteger = std::numeric_limits<std::int64_t>::min();
const std::string kNoText;

// The columns of some rows, each a tensor [rows, 1].
class Columns {
 public:
  // Numbers; booleans as 0 and 1.
  void Add(std::string name, std::vector<double>& values) { Wrap(std::move(name), values); }

  // Integer categories; times as whole seconds since 1970-01-01 UTC.
  void Add(std::string name, std::vector<std::int64_t>& values) { Wrap(std::move(name), values); }

  // Text categories, without surrounding whitespace. Unlike numbers, strings are copied.
  void Add(std::string name, const std::vector<std::string>& values) {
    const auto shape = Shape(values.size());
    auto tensor = Ort::Value::CreateTensor(allocator_, shape.data(), shape.size(),
                                           ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING);
    for (std::size_t row = 0; row < values.size(); ++row) {
      tensor.FillStringTensorElement(values[row].c_str(), row);
    }
    Keep(std::move(name), std::move(tensor));
  }

  const std::vector<std::string>& names() const { return names_; }
  const std::vector<Ort::Value>& tensors() const { return tensors_; }

 private:
  static std::vector<std::int64_t> Shape(std::size_t rows) {
    return {static_cast<std::int64_t>(rows), 1};
  }

  // A tensor that uses the vector without a copy: the vector must outlive the columns.
  template <typename T>
  void Wrap(std::string name, std::vector<T>& values) {
    const auto shape = Shape(values.size());
    Keep(std::move(name), Ort::Value::CreateTensor<T>(memory_, values.data(), values.size(),
                                                      shape.data(), shape.size()));
  }

  void Keep(std::string name, Ort::Value tensor) {
    names_.push_back(std::move(name));
    tensors_.push_back(std::move(tensor));
  }

  Ort::AllocatorWithDefaultOptions allocator_;
  Ort::MemoryInfo memory_ = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  std::vector<std::string> names_;
  std::vector<Ort::Value> tensors_;
};

struct Answers {
  std::vector<std::string> labels;   // [rows]
  std::vector<float> probabilities;  // [rows * classes]
};

class Model {
 public:
  explicit Model(const char* path) : session_(environment_, path, Options()) {}

  Answers operator()(const Columns& columns) {
    std::vector<const char*> inputs;
    for (const auto& name : columns.names()) inputs.push_back(name.c_str());
    constexpr const char* outputs[] = {"label", "probabilities"};
    auto given = session_.Run(Ort::RunOptions{nullptr}, inputs.data(), columns.tensors().data(),
                              inputs.size(), outputs, std::size(outputs));

    Answers answers;
    const auto rows = given[0].GetTensorTypeAndShapeInfo().GetElementCount();
    for (std::size_t row = 0; row < rows; ++row) {
      answers.labels.push_back(given[0].GetStringTensorElement(row));
    }
    const float* first = given[1].GetTensorData<float>();
    answers.probabilities.assign(first,
                                 first + given[1].GetTensorTypeAndShapeInfo().GetElementCount());
    return answers;
  }

  // The classes as a JSON list, in the order of the probabilities. Other metadata are read in the
  // same way: tabnas.columns has the type of each input.
  std::string Classes() {
    Ort::AllocatorWithDefaultOptions allocator;
    const auto metadata = session_.GetModelMetadata();
    return metadata.LookupCustomMetadataMapAllocated("tabnas.classes", allocator).get();
  }

 private:
  static Ort::SessionOptions Options() {
    Ort::SessionOptions options;
    options.SetIntraOpNumThreads(1);  // networks of this size gain nothing from more
    return options;
  }

  Ort::Env environment_{ORT_LOGGING_LEVEL_WARNING, "tabnas"};  // must be created before the session
  Ort::Session session_;
};

int main(int count, char** arguments) try {
  if (count != 2) {
    std::fprintf(stderr, "usage: %s parcels.onnx\n", arguments[0]);
    return 2;
  }
  Model model(arguments[1]);

  // Peru and zone 9 do not occur in training; all values of the last row are missing.
  std::vector<double> weight{3.2, kNoNumber, 9.75, kNoNumber};
  std::vector<double> insured{1, 0, kNoNumber, kNoNumber};
  std::vector<std::string> country{"Norway", "Spain", "Peru", kNoText};
  std::vector<std::int64_t> zone{3, 1, 9, kNoInteger};
  std::vector<std::int64_t> sent{1749803400, 1740960000, kNoInteger, kNoInteger};

  Columns columns;
  columns.Add("weight_kg", weight);
  columns.Add("insured", insured);
  columns.Add("country", country);
  columns.Add("zone", zone);
  columns.Add("sent", sent);

  std::printf("%s\n", model.Classes().c_str());
  const Answers answers = model(columns);
  const std::size_t classes = answers.probabilities.size() / answers.labels.size();
  for (std::size_t row = 0; row < answers.labels.size(); ++row) {
    std::printf("%-8s", answers.labels[row].c_str());
    for (std::size_t k = 0; k < classes; ++k) {
      std::printf(" %.4f", answers.probabilities[row * classes + k]);
    }
    std::printf("\n");
  }
  return 0;
} catch (const std::exception& error) {  // for example a missing file or column
  std::fprintf(stderr, "answer: %s\n", error.what());
  return 1;
}
